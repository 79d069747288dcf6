// What the simulator is asked to do, and how it answers.
//
// A job is a text of words on the standard input, followed by the bytes of all buffers
// that hold values. The answer on the standard output has a line of JSON for each fault
// and for each cost, then `outputs` and the bytes of the outputs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "memory.h"
#include "scheduler.h"

namespace simulator {

enum class Role { input, output };

struct Buffer {
    std::string name;
    Space space;
    Role role;
    std::size_t element_size, num_elements;
    bool has_values;
    std::vector<std::byte> values;

    std::size_t size() const { return element_size * num_elements; }
};

struct Job {
    std::string library;  // The compiled kernel.
    Sizes sizes;
    double limit_s;
    bool counts_costs;
    bool compares_orders;  // Whether outputs that depend on the seed are a fault.
    std::vector<std::uint64_t> seeds;
    std::vector<Buffer> buffers;
};

// Reads a job. Throws std::runtime_error where it is not one.
Job read_job(std::istream& from);

// Runs the kernel, once for each seed until there is a fault, and writes the answer.
void run_job(const Job& job, std::ostream& to);

}  // namespace simulator
