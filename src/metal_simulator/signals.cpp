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

// Called at every tick of the clock. A run whose time is over is ended where the kernel
// itself is interrupted: the simulator could be anywhere, but is told. So is a thread
// that has not accessed memory for a while: there is no such long calculation.
void on_tick(int, siginfo_t*, void* context) {
    if (simulation == nullptr) return;
    static std::uint64_t seen = 0;
    static int num_idle = 0;
    const std::uint64_t left = simulation->checks.running.accesses_left;
    num_idle = left == seen ? num_idle + 1 : 0;
    seen = left;
    const bool is_late = --num_ticks_left <= 0;
    if (is_late) simulation->scheduler.hurry();
    const Place place = interrupted_at(context);
    if (place != 0 && (is_late || num_idle > most_idle_ticks)) end_run("endless", place, "");
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
