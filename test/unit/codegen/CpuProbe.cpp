#include "test/unit/codegen/CpuCases.h"
#include <cstdio>
using namespace dlc;
using namespace dlc::test;
static void report(const char *what, CpuRunner &r, const std::vector<Bytes> &in,
                   const std::map<std::string, Bytes> &w, double flops, int reps) {
  for (auto &c : r.codes()) {
    FILE *f = fopen(("/tmp/img_" + c.isa).c_str(), "wb");
    fwrite(c.image.data(), 1, c.image.size(), f);
    fclose(f);
  }
  for (auto isa : codegen::kIsaVariants) {
    double ns = r.time(isa, "kernel", in, w, reps);
    printf("%-28s %-7s %8.1f us %7.1f GF/s   (schedule %.1f ms, compile both %.1f ms)\n", what,
           codegen::isaName(isa).str().c_str(), ns / 1e3, flops / ns, r.scheduleMs, r.compileMs);
  }
}
static void gemm(int64_t m, int64_t k, int64_t n, int reps) {
  std::string x = tensor({m, k}), w = tensor({n, k}), b = tensor({n}), y = tensor({m, n});
  CpuRunner r(program("contraction", {{"x", x, false}, {"w", w, true}, {"b", b, true}}, y,
                      "%0 = dl.linear %x, %w, %b : (" + x + ", " + w + ", " + b + ") -> " + y +
                          "\n%1 = dl.relu %0 : (" + y + ") -> " + y + "\ndl.yield %1 : " + y));
  report(("gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k)).c_str(),
         r, {toBytes(numbers(m * k, 1))},
         {{"w", toBytes(numbers(n * k, 2))}, {"b", toBytes(numbers(n, 3))}}, 2.0 * m * n * k, reps);
}
static void conv(int64_t n, int64_t c, int64_t h, int64_t k, int64_t rs, int64_t stride,
                 int64_t pad, int64_t groups, int reps, bool last = true) {
  std::string order = last ? "0, 2, 3, 1" : "";
  int64_t o = (h + 2 * pad - rs) / stride + 1;
  std::string x = tensor({n, c, h, h}, "f32", order), w = tensor({k, c / groups, rs, rs}),
              b = tensor({k}), y = tensor({n, k, o, o}, "f32", order);
  auto two = [](int64_t v) {
    return "array<i64: " + std::to_string(v) + ", " + std::to_string(v) + ">";
  };
  CpuRunner r(program("contraction", {{"x", x, false}, {"w", w, true}, {"b", b, true}}, y,
                      "%0 = dl.conv2d %x, %w, %b {stride = " + two(stride) +
                          ", padding = " + two(pad) + ", groups = " + std::to_string(groups) +
                          " : i64} : (" + x + ", " + w + ", " + b + ") -> " + y +
                          "\n%1 = dl.relu %0 : (" + y + ") -> " + y + "\ndl.yield %1 : " + y));
  report(("conv n" + std::to_string(n) + " c" + std::to_string(c) + " h" + std::to_string(h) +
          " k" + std::to_string(k) + " r" + std::to_string(rs) + (groups > 1 ? " dw" : ""))
             .c_str(),
         r, {toBytes(numbers(n * c * h * h, 1))},
         {{"w", toBytes(numbers(k * (c / groups) * rs * rs, 2))}, {"b", toBytes(numbers(k, 3))}},
         2.0 * n * k * o * o * (c / groups) * rs * rs, reps);
}
#include <sys/resource.h>
static double cpu() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec * 1e3 + u.ru_utime.tv_usec / 1e3 + u.ru_stime.tv_sec * 1e3 +
         u.ru_stime.tv_usec / 1e3;
}
int main(int argc, char **argv) {
  if (argc > 2) {
    gemm(512, 512, 512, 60);
    return 0;
  }
  if (argc > 1) {
    for (int i = 0; i < 2; ++i) {
      double t = cpu();
      gemm(17, 51, 100, 1);
      printf("CPU ms %.1f\n", cpu() - t);
      t = cpu();
      conv(1, 32, 26, 64, 3, 1, 0, 1, 1);
      printf("CPU ms %.1f\n", cpu() - t);
      t = cpu();
      conv(1, 64, 56, 64, 3, 1, 1, 1, 1);
      printf("CPU ms %.1f\n", cpu() - t);
    }
    return 0;
  }

  gemm(512, 512, 512, 60);
  gemm(1024, 1024, 1024, 10);
  gemm(128, 768, 768, 100);
  gemm(1, 1024, 4096, 200);
  gemm(16, 1024, 4096, 40);
  gemm(17, 512, 1000, 100);
  gemm(197, 768, 300, 60);
  conv(1, 64, 56, 64, 3, 1, 1, 1, 60);
  conv(1, 256, 14, 256, 3, 1, 1, 1, 60);
  conv(1, 512, 7, 512, 3, 1, 1, 1, 60);
  conv(1, 64, 56, 256, 1, 1, 0, 1, 60);
  conv(1, 3, 224, 64, 7, 2, 3, 1, 20);
  conv(1, 1, 28, 32, 3, 1, 0, 1, 200);
  conv(1, 32, 26, 64, 3, 1, 0, 1, 200);
  conv(1, 64, 56, 64, 3, 1, 1, 64, 60);
}
