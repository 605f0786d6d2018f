#pragma once

/// The whole public interface.
#include <girih/dtype.hpp>
#include <girih/elementwise.hpp>
#include <girih/executor.hpp>
#include <girih/foreign.hpp>
#include <girih/gemm.hpp>
#include <girih/grouped.hpp>
#include <girih/operand.hpp>
#include <girih/overlay.hpp>
#include <girih/plan.hpp>
#include <girih/prepare.hpp>
#include <girih/routing.hpp>
#include <girih/runtime.hpp>
#include <girih/shape.hpp>
#include <girih/status.hpp>
#include <girih/tensor.hpp>
#include <girih/version.hpp>
