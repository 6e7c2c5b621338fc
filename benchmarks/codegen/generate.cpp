// Writes C code of the forward dynamics of a URDF with a free base, as Pinocchio's CodeGenABA does: its articulated-body
// algorithm in world convention, traced by CppADCodeGen. Built and run by pinocchio_codegen.py: generate URDF DIRECTORY.

#include "pinocchio/codegen/cppadcg.hpp"

#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/parsers/urdf.hpp"

int main(int count, char **arguments) {
  using Traced = CppAD::AD<CppAD::cg::CG<double>>;
  using Vector = Eigen::Matrix<Traced, Eigen::Dynamic, 1>;
  if (count != 3) return 2;
  pinocchio::Model model;
  pinocchio::urdf::buildModel(arguments[1], pinocchio::JointModelFreeFlyer(), model);
  const pinocchio::ModelTpl<Traced> traced = model.cast<Traced>();
  pinocchio::DataTpl<Traced> data(traced);
  Vector x(model.nq + 2 * model.nv);
  CppAD::Independent(x);
  const Vector q = x.head(model.nq), v = x.segment(model.nq, model.nv), tau = x.tail(model.nv);
  const Vector y = pinocchio::aba(traced, data, q, v, tau, pinocchio::Convention::WORLD);
  CppAD::ADFun<CppAD::cg::CG<double>> function(x, y);
  function.optimize("no_compare_op");
  CppAD::cg::ModelCSourceGen<double> source(function, "aba");
  CppAD::cg::ModelLibraryCSourceGen<double> library(source);
  CppAD::cg::SaveFilesModelLibraryProcessor<double>(library).saveSourcesTo(arguments[2]);
}
