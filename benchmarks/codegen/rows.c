// Generated forward dynamics over rows of q, v, tau. Built with the generated code and called by pinocchio_codegen.py.

struct Atomic {  // functions that generated code may call; this one calls none
  void *library;
  int (*forward)(void *, int, int, int, const void *, void *);
  int (*reverse)(void *, int, int, const void *, void *, const void *);
};

void aba_forward_zero(double const *const *in, double *const *out, struct Atomic functions);

void run(long count, long inputs, long outputs, const double *rows, double *out) {
  const struct Atomic none = {0, 0, 0};
  for (long k = 0; k < count; ++k) {
    const double *in[1] = {rows + k * inputs};
    double *result[1] = {out + k * outputs};
    aba_forward_zero(in, result, none);
  }
}
