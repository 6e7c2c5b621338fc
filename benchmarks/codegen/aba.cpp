// pinocchio::aba over rows of q, v, tau. Built and called by pinocchio_codegen.py.

#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/parsers/urdf.hpp"

namespace {

struct Peer {
  pinocchio::Model model;
  pinocchio::Data data;
  explicit Peer(const pinocchio::Model &own) : model(own), data(own) {}
};

}  // namespace

extern "C" void *peer_of(const char *urdf) {
  pinocchio::Model model;
  pinocchio::urdf::buildModel(urdf, pinocchio::JointModelFreeFlyer(), model);
  return new Peer(model);
}

extern "C" void run_aba(void *handle, long count, const double *rows, double *out) {
  Peer &peer = *static_cast<Peer *>(handle);
  const int nq = peer.model.nq, nv = peer.model.nv;
  Eigen::VectorXd q(nq), v(nv), tau(nv);
  for (long k = 0; k < count; ++k) {
    const double *row = rows + k * (nq + 2 * nv);
    q = Eigen::Map<const Eigen::VectorXd>(row, nq);
    v = Eigen::Map<const Eigen::VectorXd>(row + nq, nv);
    tau = Eigen::Map<const Eigen::VectorXd>(row + nq + nv, nv);
    Eigen::Map<Eigen::VectorXd>(out + k * nv, nv) = pinocchio::aba(peer.model, peer.data, q, v, tau);
  }
}
