#include "signals.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>

#include "simulation.h"

namespace simulator {
namespace {

// Signals are handled here, since a stack that has overflowed has no room.
std::array<std::byte, 64 << 10> signal_stack;

constexpr suseconds_t tick_us = 20'000;
constexpr int most_idle_ticks = 50;
// How long one whose time is over may go on until it is told.
constexpr int most_late_ticks = 5;
long num_ticks_left = 0;

// Where the kernel was interrupted, 0 if this was not in the kernel.
Place interrupted_at(const void* context) {
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__linux__) && defined(__x86_64__)
    const auto counter = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__linux__) && defined(__aarch64__)
    const auto counter = static_cast<std::uintptr_t>(registers.pc);
#elif defined(__APPLE__) && defined(__x86_64__)
    const auto counter = static_cast<std::uintptr_t>(registers->__ss.__rip);
#elif defined(__APPLE__) && defined(__aarch64__)
    const auto counter = static_cast<std::uintptr_t>(registers->__ss.__pc);
#else
#error "where is the program counter?"
#endif
    Dl_info found;
    const bool is_known = dladdr(reinterpret_cast<void*>(counter), &found) != 0;
    const bool is_kernel =
        is_known && reinterpret_cast<std::uintptr_t>(found.dli_fbase) == code_begin;
    return is_kernel ? static_cast<Place>(counter - code_begin) : 0;
}

[[noreturn]] void end_run(const char* kind, Place place, const char* details) {
    const Side side = simulation->checks.side(place, "");
    simulation->faults.add({kind, side, {}, {}, details});
    simulation->scheduler.stop_at_once();
}

void on_crash(int signal, siginfo_t* info, void* context) {
    if (simulation == nullptr || !simulation->scheduler.is_in_thread()) {
        _exit(128 + signal);  // A mistake of the simulator's own.
    }
    const bool is_stack = simulation->scheduler.overflowed_at(info->si_addr);
    end_run("crash", interrupted_at(context),
            signal == SIGFPE ? "division" : is_stack ? "stack" : "memory");
}

// Called at every tick of the clock. A run whose time is over ends at its next access or
// barrier, whose line is known. If it comes to none, it is ended where the kernel is
// interrupted. So is one that has done neither for a while: no calculation is so long.
void on_tick(int, siginfo_t*, void* context) {
    if (simulation == nullptr) return;
    static std::uint64_t seen = 0;
    static int num_idle = 0;
    const std::uint64_t done = simulation->scheduler.num_steps();
    num_idle = done == seen ? num_idle + 1 : 0;
    seen = done;
    --num_ticks_left;
    if (num_ticks_left <= 0) simulation->scheduler.hurry();
    const bool is_at_end = num_ticks_left <= -most_late_ticks || num_idle > most_idle_ticks;
    const Place place = is_at_end ? interrupted_at(context) : 0;
    if (place != 0) end_run("endless", place, "");
}

}  // namespace

void watch_for_signals(double limit_s) {
    const stack_t stack = {signal_stack.data(), 0, signal_stack.size()};
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    action.sa_sigaction = on_crash;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        sigaction(signal, &action, nullptr);
    }
    action.sa_sigaction = on_tick;
    sigaction(SIGPROF, &action, nullptr);
    num_ticks_left = static_cast<long>(limit_s * 1e6) / tick_us;
    const itimerval timer = {{0, tick_us}, {0, tick_us}};
    setitimer(ITIMER_PROF, &timer, nullptr);  // Of this process's own time.
}

}  // namespace simulator
