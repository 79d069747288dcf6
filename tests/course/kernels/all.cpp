/// All programs beside this file in one: `all matvec 100000 7` is `matvec 100000 7`.
///
/// What takes time is to compile the kernels. Most are called by several programs, and
/// here they are compiled once for all of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// First, as it says how the kernels are compiled.
#include "avx_vnni.h"

#include "drawn_layer.h"
#include "kernels/attention.h"
#include "kernels/buffer.h"
#include "kernels/fused.h"
#include "kernels/layer.h"
#include "kernels/layer_rows.h"
#include "kernels/matvec.h"
#include "kernels/matvec_int8.h"
#include "kernels/matmul.h"  // after matvec.h, some of whose names it has, too
#include "kernels/matmul_int8.h"
#include "kernels/paged.h"
#include "kernels/threads.h"

// All that they include is included already, so their own names are all that is here.
namespace attention_program {
#include "attention.cpp"
}
namespace buffer_program {
#include "buffer.cpp"
}
namespace fused_program {
#include "fused.cpp"
}
namespace layer_program {
#include "layer.cpp"
}
namespace layer_rows_program {
#include "layer_rows.cpp"
}
namespace matmul_program {
#include "matmul.cpp"
}
namespace matvec_program {
#include "matvec.cpp"
}
namespace paged_program {
#include "paged.cpp"
}
namespace threads_program {
#include "threads.cpp"
}

int main(int argc, char** argv) {
  using Main = int (*)(int, char**);
  constexpr std::pair<std::string_view, Main> programs[] = {
      {"attention", attention_program::main},
      {"buffer", buffer_program::main},
      {"fused", fused_program::main},
      {"layer", layer_program::main},
      {"layer_rows", layer_rows_program::main},
      {"matmul", matmul_program::main},
      {"matvec", matvec_program::main},
      {"paged", paged_program::main},
      {"threads", threads_program::main},
  };
  for (const auto& [name, run] : programs) {
    if (argc > 1 && name == argv[1]) return run(argc - 1, argv + 1);
  }
  std::fprintf(stderr, "expected the name of a program\n");
  return 2;
}
