/// The Python module: what `kernels.py` calls.
#include <exception>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "glue/attention.h"
#include "glue/fused.h"
#include "glue/layer.h"
#include "glue/layer_rows.h"
#include "glue/matmul.h"
#include "glue/matvec.h"
#include "glue/paged.h"
#include "glue/pages.h"
#include "glue/weight.h"
#include "kernels/todo.h"

namespace nb = nanobind;

namespace {

/// Raise `Unsolved` in Python: `todo` of the course says which chapter to read.
void translate_unsolved(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const tiny_llm::Unsolved& unsolved) {
    try {
      nb::module_::import_("tiny_llm_course").attr("todo")(unsolved.what());
    } catch (nb::python_error& raised) {
      raised.restore();
    }
  }
}

}  // namespace

NB_MODULE(_kernels, module) {
  // The arrays of MLX are known once it is imported.
  nb::module_::import_("mlx.core");
  nb::register_exception_translator(translate_unsolved);
  using mlx::core::array;
  // The kernels of two solutions may be loaded, and share what types are known.
  if (const nb::handle known = nb::type<tiny_llm::Weight>(); known.is_valid()) {
    module.attr("Weight") = known;
  } else {
    nb::class_<tiny_llm::Weight>(module, "Weight")
        .def(nb::init<array, array, array, int, int>());
  }
  tiny_llm::bind_matvec(module);
  tiny_llm::bind_attention(module);
  tiny_llm::bind_fused(module);
  tiny_llm::bind_layer(module);
  tiny_llm::bind_layer_rows(module);
  tiny_llm::bind_matmul(module);
  tiny_llm::bind_paged(module);
  module.def("prefer_large_pages", &tiny_llm::prefer_large_pages);
}
