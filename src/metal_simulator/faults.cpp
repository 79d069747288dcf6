#include "faults.h"

#include <algorithm>
#include <sstream>

namespace simulator {
namespace {

// A text as JSON. Those of a compiled kernel may hold anything.
std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\') made += '\\';
        made += one >= ' ' ? one : ' ';
    }
    return made + '"';
}

std::string json_of(const Side& side) {
    std::ostringstream made;
    made << "{\"place\":" << side.place << ",\"group\":" << side.group
         << ",\"thread\":" << side.thread << ",\"action\":" << quoted(side.action)
         << '}';
    return made.str();
}

std::string json_of(const Target& target) {
    std::ostringstream made;
    made << "{\"space\":" << quoted(target.space)
         << ",\"buffer\":" << quoted(target.buffer) << ",\"index\":" << target.index
         << ",\"num_elements\":" << target.num_elements << '}';
    return made.str();
}

std::string json_of(const Fault& fault) {
    std::string made = "{\"kind\":" + quoted(fault.kind);
    if (fault.side) made += ",\"side\":" + json_of(*fault.side);
    if (fault.other) made += ",\"other\":" + json_of(*fault.other);
    if (fault.target) made += ",\"target\":" + json_of(*fault.target);
    return made + ",\"details\":" + quoted(fault.details) + '}';
}

}  // namespace

void Faults::add(const Fault& fault, std::size_t position) {
    const Place one = fault.side ? fault.side->place : 0;
    const Place two = fault.other ? fault.other->place : 0;
    const auto [low, high] = std::minmax(one, two);
    const bool is_new = known_.emplace(fault.kind, low, high).second;
    if (!is_new || found_.size() == most) return;
    const auto at = std::min(position, found_.size());
    found_.insert(found_.begin() + static_cast<std::ptrdiff_t>(at), fault);
}

bool Faults::move_race(Place place, std::size_t position) {
    const auto race = std::find_if(found_.begin(), found_.end(), [&](const Fault& one) {
        return one.kind == "race" &&
               (one.side->place == place || one.other->place == place);
    });
    if (race == found_.end()) return false;
    const auto to = found_.begin() + static_cast<std::ptrdiff_t>(position);
    if (to < race) std::rotate(to, race, race + 1);
    return true;
}

std::size_t Faults::behind_divergence(std::size_t position) const {
    const auto one = std::find_if(found_.begin(), found_.end(), [](const Fault& fault) {
        return fault.kind.rfind("divergent", 0) == 0;
    });
    if (one == found_.end()) return position;
    const auto number = static_cast<std::size_t>(one - found_.begin());
    return std::max(position, number + 1);
}

void Faults::rename_access(Place place, const char* kind) {
    for (Fault& one : found_) {
        const bool is_access = one.kind.rfind("out_of_bounds", 0) == 0;
        if (is_access && one.side->place == place) one.kind = kind;
    }
}

std::string Faults::json() const {
    std::string made;
    for (const Fault& fault : found_) made += json_of(fault) + '\n';
    return made;
}

}  // namespace simulator
