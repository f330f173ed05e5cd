/*===- classify.c - The digit network from C, with nothing but the runtime ---------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Build: cc -std=c99 classify.c -I runtime/include -L build/lib -ldlc_runtime \
 *          -Wl,-rpath,build/lib -o classify
 * Run:   ./classify digits.bin
 *
 * Draws a handwritten three from the UCI digits, which the network did not see in training, and
 * prints what the network makes of it. Exit status 0 when it says three.
 *===------------------------------------------------------------------------------------------===*/
#include <dlc/runtime.h>
#include <stdio.h>

static const unsigned char kThree[8][8] = {{0, 0, 3, 10, 15, 6, 0, 0}, {0, 4, 16, 9, 4, 16, 2, 0},
                                           {0, 8, 14, 0, 9, 10, 0, 0}, {0, 1, 4, 7, 16, 2, 0, 0},
                                           {0, 0, 0, 2, 15, 7, 0, 0},  {0, 0, 0, 0, 1, 14, 1, 0},
                                           {0, 0, 12, 8, 1, 11, 7, 0}, {0, 0, 6, 8, 16, 15, 5, 0}};

/* Every call of the API gives a status, and dlc_last_error the sentence that goes with it. */
static int failed(const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, dlc_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s digits.bin\n", argv[0]);
    return 2;
  }
  float image[8][8], probabilities[10];
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      image[row][column] = kThree[row][column] / 16.0f;
      putchar(" .:-=+*#%@"[kThree[row][column] * 9 / 16]);
    }
    putchar('\n');
  }

  /* A module may be shared by many threads; each has a context of its own. */
  dlc_module *module = NULL;
  if (dlc_module_load(argv[1], NULL, &module) != DLC_OK)
    return failed("load");
  dlc_context_options options = {0};
  options.struct_size = sizeof options;
  options.device = "cpu";
  dlc_context *context = NULL;
  if (dlc_context_create(module, &options, &context) != DLC_OK)
    return failed("prepare");

  dlc_tensor input = {0}, output = {0};
  input.struct_size = output.struct_size = sizeof(dlc_tensor);
  input.dtype = output.dtype = DLC_F32;
  input.rank = 4;
  input.dims[0] = input.dims[1] = 1;
  input.dims[2] = input.dims[3] = 8;
  input.data = image;
  input.bytes = sizeof image;
  output.rank = 2;
  output.dims[0] = 1;
  output.dims[1] = 10;
  output.data = probabilities;
  output.bytes = sizeof probabilities;
  if (dlc_context_run(context, &input, 1, &output, 1) != DLC_OK)
    return failed("run");

  int best = 0;
  for (int digit = 0; digit < 10; ++digit) {
    printf("%d: %5.1f %%\n", digit, 100.0f * probabilities[digit]);
    if (probabilities[digit] > probabilities[best])
      best = digit;
  }
  printf("It is a %d (%s)\n", best, dlc_context_device(context));
  dlc_context_free(context);
  dlc_module_free(module);
  return best == 3 ? 0 : 1;
}
