// Ends a run that would not end by itself: one that crashes, and one that takes too long.

#pragma once

namespace simulator {

// From now on, a crash of the kernel and the end of its time are faults like others. The
// limit is in seconds that this process has computed.
void watch_for_signals(double limit_s);

}  // namespace simulator
