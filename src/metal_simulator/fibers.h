// Fibers: functions that can pause in the middle and be continued later, all in one
// thread of the operating system. Each GPU thread is one.
//
// A fiber has a stack of its own. Pausing stores the registers (`_setjmp`) and restores
// those of whoever continued it (`_longjmp`), which takes some 10 ns, since the operating
// system is not asked. Below each stack lies a page that nobody may touch: a stack that
// overflows is a signal, not a change to the next fiber.

#pragma once

#include <csetjmp>
#include <cstddef>
#include <memory>
#include <vector>

namespace simulator {

class Fiber {
  public:
    using Body = void (*)();

    // Runs the body when first continued. It must not return.
    explicit Fiber(Body body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the fiber until it pauses. Called from outside all fibers.
    void resume();

    // Goes back to whoever resumed the running fiber.
    static void pause();

    // Tells whether an address lies in the page below the stack.
    bool overflowed_at(const void* address) const;

  private:
    void start();

    Body body_;
    void* stack_;
    bool started_ = false;
    std::jmp_buf inside_;
};

using Fibers = std::vector<std::unique_ptr<Fiber>>;

}  // namespace simulator
