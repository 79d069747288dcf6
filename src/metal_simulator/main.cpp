// The program: a job in, its faults, costs and outputs out.

#include <exception>
#include <iostream>
#include <new>

#include "job.h"

int main() {
    std::ios::sync_with_stdio(false);
    try {
        simulator::run_job(simulator::read_job(std::cin), std::cout);
    } catch (const std::bad_alloc&) {
        return 3;
    } catch (const std::exception& error) {
        std::cerr << "metal_simulator: " << error.what() << '\n';
        return 2;
    }
    std::cout.flush();
    return std::cout ? 0 : 1;
}
