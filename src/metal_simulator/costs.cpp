#include "costs.h"

#include <algorithm>
#include <sstream>

namespace simulator {
namespace {

constexpr std::size_t line_size = 128;
constexpr std::size_t num_banks = 32;
constexpr std::size_t bank_width = 4;

std::size_t divided_up(std::size_t value, std::size_t by) {
    return (value + by - 1) / by;
}

// The numbers of the blocks that some accesses touch, each once.
std::vector<std::uintptr_t>& blocks_of(const std::vector<std::uintptr_t>& addresses,
                                       std::size_t size, std::size_t block_size) {
    static std::vector<std::uintptr_t> blocks;
    blocks.clear();
    for (const std::uintptr_t address : addresses) {
        const std::uintptr_t last = (address + size - 1) / block_size;
        for (std::uintptr_t one = address / block_size; one <= last; ++one) {
            // Neighbouring lanes mostly touch one block, or the next.
            if (blocks.empty() || blocks.back() != one) blocks.push_back(one);
        }
    }
    if (!std::is_sorted(blocks.begin(), blocks.end())) {
        std::sort(blocks.begin(), blocks.end());
    }
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
}

// Counts the lines of device memory that one execution takes.
void add_lines(Traffic& traffic, const std::vector<std::uintptr_t>& addresses,
               std::size_t size) {
    const std::size_t num_different = blocks_of(addresses, size, size).size();
    traffic.fewest_steps += divided_up(num_different * size, line_size);
    traffic.steps += blocks_of(addresses, size, line_size).size();
}

// Counts the turns that the busiest bank takes.
void add_turns(Traffic& traffic, const std::vector<std::uintptr_t>& addresses,
               std::size_t size) {
    const auto& words = blocks_of(addresses, size, bank_width);
    std::array<std::uint64_t, num_banks> turns{};
    for (const std::uintptr_t word : words) ++turns[word % num_banks];
    traffic.steps += *std::max_element(turns.begin(), turns.end());
    traffic.fewest_steps += divided_up(words.size(), num_banks);
}

}  // namespace

Costs::Instruction& Costs::find(Place place) {
    auto& found = instructions_[place];
    if (!found) {
        found = std::make_unique<Instruction>();
        found->place = place;
    }
    return *found;
}

void Costs::end_of_slice() {
    for (auto& [place, one] : instructions_) settle(*one);
}

void Costs::settle(Instruction& one) {
    std::size_t num_executions = 0;
    for (const auto& own : one.addresses) {
        num_executions = std::max(num_executions, own.size());
    }
    static std::vector<std::uintptr_t> together;
    for (std::size_t n = 0; n < num_executions; ++n) {
        together.clear();
        for (const auto& own : one.addresses) {
            if (n < own.size()) together.push_back(own[n]);
        }
        one.traffic.bytes += together.size() * one.size;
        const auto add = one.space == Space::threadgroup ? add_turns : add_lines;
        add(one.traffic, together, one.size);
    }
    one.traffic.executions += num_executions;
    for (auto& own : one.addresses) own.clear();
}

std::string Costs::json() const {
    std::ostringstream made;
    for (const auto& [place, one] : instructions_) {
        made << "{\"place\":" << place << ",\"space\":\"" << name_of(one->space)
             << "\",\"writes\":" << (one->writes ? "true" : "false")
             << ",\"bytes\":" << one->traffic.bytes
             << ",\"executions\":" << one->traffic.executions
             << ",\"steps\":" << one->traffic.steps
             << ",\"fewest_steps\":" << one->traffic.fewest_steps << "}\n";
    }
    made << "{\"barriers\":" << num_barriers_ << ",\"adds\":" << flops.adds
         << ",\"multiplies\":" << flops.multiplies << ",\"others\":" << flops.others
         << "}\n";
    return made.str();
}

}  // namespace simulator
