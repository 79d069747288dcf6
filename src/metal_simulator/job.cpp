#include "job.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>

#include "signals.h"
#include "simulation.h"

namespace simulator {
namespace {

void expect(std::istream& from, const std::string& word) {
    std::string read;
    from >> read;
    if (read != word) throw std::runtime_error("expected " + word + ", got " + read);
}

Position read_position(std::istream& from, const std::string& word) {
    expect(from, word);
    Position read{};
    from >> read.x >> read.y >> read.z;
    return read;
}

template <typename T>
T read_value(std::istream& from, const std::string& word) {
    expect(from, word);
    T read{};
    from >> read;
    return read;
}

Buffer read_buffer(std::istream& from) {
    Buffer read{};
    std::string space, role;
    from >> read.name >> space >> role >> read.element_size >> read.num_elements >>
        read.has_values;
    read.space = space == "constant" ? Space::constant : Space::device;
    read.role = role == "output" ? Role::output : Role::input;
    return read;
}

// Reads the rest of a line, since the path of a file may hold spaces.
std::string read_path(std::istream& from, const std::string& word) {
    expect(from, word);
    std::string read;
    std::getline(from >> std::ws, read);
    return read;
}

Scheduler::Kernel load(const std::string& library) {
    void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) throw std::runtime_error(dlerror());
    void* const found = dlsym(loaded, "tiny_metal_kernel");
    Dl_info info;
    if (found == nullptr || dladdr(found, &info) == 0) {
        throw std::runtime_error("the library has no kernel");
    }
    code_begin = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    return reinterpret_cast<Scheduler::Kernel>(found);
}

// Gives each buffer of a job a region of memory.
void place_buffers(const Job& job, Simulation& made) {
    for (const Buffer& buffer : job.buffers) {
        Region& region = made.arena.add(buffer.name, buffer.space, buffer.size(),
                                        buffer.element_size);
        if (buffer.has_values) {
            std::copy(buffer.values.begin(), buffer.values.end(), region.begin);
        } else {
            region.scramble();
        }
        if (buffer.role == Role::output) {
            region.shadow = std::make_unique<Shadow>(region.size, true);
        }
        made.scheduler.buffers.push_back(region.begin);
    }
}

// Runs a kernel with one order of its threads.
std::unique_ptr<Simulation> simulate(const Job& job, Scheduler::Kernel kernel,
                                     Fibers& fibers, std::uint64_t seed,
                                     bool counts_costs) {
    auto made = std::make_unique<Simulation>(job.sizes, kernel, fibers);
    simulation = made.get();
    place_buffers(job, *made);
    if (counts_costs) made->costs.begin();
    const bool has_ended = made->scheduler.run(seed);
    made->checks.report_beyond();
    made->checks.report_uninitialised();
    if (has_ended) made->checks.report_unwritten();
    simulation = nullptr;
    return made;
}

// Compares the outputs of two orders of the threads.
void compare(const Job& job, Simulation& one, const Simulation& other) {
    for (std::size_t n = 0; n < job.buffers.size(); ++n) {
        const Region &here = *one.arena.regions()[n], &there = *other.arena.regions()[n];
        const auto* const end = here.begin + here.size;
        const auto* const differs = std::mismatch(here.begin, here.begin + here.size,
                                                  there.begin).first;
        if (differs == end) continue;
        const auto index = here.index_of(reinterpret_cast<std::uintptr_t>(differs));
        one.faults.add({"order_dependent", {}, {},
                        Target{name_of(here.space), here.name, index,
                               here.num_elements()}, ""});
    }
}

void answer(const Job& job, const Simulation& first, const std::string& faults,
            std::ostream& to) {
    to << faults << (job.counts_costs ? first.costs.json() : "") << "outputs\n";
    for (std::size_t n = 0; n < job.buffers.size(); ++n) {
        const Region& region = *first.arena.regions()[n];
        if (job.buffers[n].role == Role::output) {
            to.write(reinterpret_cast<const char*>(region.begin),
                     static_cast<std::streamsize>(region.size));
        }
    }
}

}  // namespace

Job read_job(std::istream& from) {
    Job job{};
    job.library = read_path(from, "library");
    job.sizes.grid = read_position(from, "grid");
    job.sizes.group = read_position(from, "threadgroup");
    job.limit_s = read_value<double>(from, "limit_s");
    job.counts_costs = read_value<bool>(from, "counts_costs");
    job.compares_orders = read_value<bool>(from, "compares_orders");
    job.seeds.resize(read_value<std::size_t>(from, "seeds"));
    for (std::uint64_t& seed : job.seeds) from >> seed;
    const auto num_buffers = read_value<std::size_t>(from, "buffers");
    for (std::size_t n = 0; n < num_buffers; ++n) {
        job.buffers.push_back(read_buffer(from));
    }
    expect(from, "values");
    from.ignore(1);  // The end of the line.
    for (Buffer& buffer : job.buffers) {
        if (!buffer.has_values) continue;
        buffer.values.resize(buffer.size());
        from.read(reinterpret_cast<char*>(buffer.values.data()),
                  static_cast<std::streamsize>(buffer.size()));
    }
    if (!from) throw std::runtime_error("the job ends too early");
    return job;
}

void run_job(const Job& job, std::ostream& to) {
    const Scheduler::Kernel kernel = load(job.library);
    watch_for_signals(job.limit_s);
    Fibers fibers;
    const auto first =
        simulate(job, kernel, fibers, job.seeds.at(0), job.counts_costs);
    std::string faults = first->faults.json();
    for (std::size_t n = 1; n < job.seeds.size() && faults.empty(); ++n) {
        const auto next = simulate(job, kernel, fibers, job.seeds[n], false);
        if (job.compares_orders && next->faults.number() == 0) compare(job, *next, *first);
        faults = next->faults.json();
    }
    answer(job, *first, faults, to);
}

}  // namespace simulator
