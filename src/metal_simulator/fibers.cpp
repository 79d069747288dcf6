#include "fibers.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace simulator {
namespace {

// Of a GPU thread's private memory, only arrays that are indexed at run time lie here.
constexpr std::size_t stack_size = 128 << 10;

std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// Where `pause` goes back to. One is enough: fibers do not resume each other.
std::jmp_buf outside;
Fiber* running = nullptr;

// AddressSanitizer must be told which stack is in use.
#if defined(__SANITIZE_ADDRESS__)
void* outer_state;
const void* outer_stack;
std::size_t outer_size;

void leave_outer(const void* stack) {
    __sanitizer_start_switch_fiber(&outer_state, stack, stack_size);
}
void back_in_outer() {
    __sanitizer_finish_switch_fiber(outer_state, nullptr, nullptr);
}
void enter_inner(void* state) {
    __sanitizer_finish_switch_fiber(state, &outer_stack, &outer_size);
}
void leave_inner(void** state) {
    __sanitizer_start_switch_fiber(state, outer_stack, outer_size);
}
#else
void leave_outer(const void*) {}
void back_in_outer() {}
void enter_inner(void*) {}
void leave_inner(void**) {}
#endif

}  // namespace

Fiber::Fiber(Body body) : body_(body) {
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* pages = mmap(nullptr, page_size() + stack_size, PROT_NONE, kind, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(pages) + page_size();
    mprotect(stack_, stack_size, PROT_READ | PROT_WRITE);
}

Fiber::~Fiber() {
    munmap(static_cast<std::byte*>(stack_) - page_size(), page_size() + stack_size);
}

void Fiber::resume() {
    running = this;
    if (_setjmp(outside) == 0) {
        leave_outer(stack_);
        if (started_) _longjmp(inside_, 1);
        start();
    }
    back_in_outer();
}

void Fiber::start() {
    started_ = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_;
    context.uc_stack.ss_size = stack_size;
    context.uc_link = nullptr;
    makecontext(&context, [] { enter_inner(nullptr); running->body_(); }, 0);
    setcontext(&context);
}

void Fiber::pause() {
    void* state = nullptr;
    if (_setjmp(running->inside_) == 0) {
        leave_inner(&state);
        _longjmp(outside, 1);
    }
    enter_inner(state);
}

bool Fiber::overflowed_at(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    const auto* stack = static_cast<const std::byte*>(stack_);
    return byte >= stack - page_size() && byte < stack;
}

}  // namespace simulator
