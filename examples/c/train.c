/*===- train.c - A new head for the digit network, trained from C ------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Build: cc -std=c99 train.c -I runtime/include -L build/lib -ldlc_runtime \
 *          -Wl,-rpath,build/lib -o train
 * Run:   dlc grad digits.dl --train 'fc2.*' --loss 'nll_loss(log(probs), labels)' \
 *          --optimizer 'Adam(lr=0.02)' -o step.dl
 *        dlc compile step.dl -o step.bin
 *        ./train step.bin images.npy labels.npy
 *
 * Each run of the step computes the loss of a batch and changes the states, which hold the weights
 * of the head and begin with zeros. Exit status 0 when it has learnt.
 *===------------------------------------------------------------------------------------------===*/
#include <dlc/runtime.h>
#include <stdio.h>
#include <string.h>

enum { kSamples = 597, kSteps = 100 };

/* Every call of the API gives a status, and dlc_last_error the sentence that goes with it. */
static int failed(const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, dlc_last_error());
  return 1;
}

/* The numbers of an .npy file, behind a header whose length its bytes 8 and 9 say. */
static int readNumbers(const char *path, void *numbers, size_t bytes) {
  unsigned char start[10];
  FILE *file = fopen(path, "rb");
  if (!file || fread(start, 1, 10, file) != 10 || fseek(file, start[8] + 256 * start[9], SEEK_CUR))
    return 0;
  size_t found = fread(numbers, 1, bytes, file);
  fclose(file);
  return found == bytes;
}

int main(int argc, char **argv) {
  static float images[kSamples][64];
  static int64_t labels[kSamples];
  if (argc != 4 || !readNumbers(argv[2], images, sizeof images) ||
      !readNumbers(argv[3], labels, sizeof labels)) {
    fprintf(stderr, "usage: %s step.bin images.npy labels.npy\n", argv[0]);
    return 2;
  }
  dlc_module *module = NULL;
  dlc_context *context = NULL;
  dlc_context_options options = {.struct_size = sizeof options, .device = "cpu"};
  if (dlc_module_load(argv[1], NULL, &module) != DLC_OK)
    return failed("load");
  if (dlc_context_create(module, &options, &context) != DLC_OK)
    return failed("prepare");

  float loss = 0;
  dlc_tensor inputs[2] = {{.struct_size = sizeof(dlc_tensor),
                           .dtype = DLC_F32,
                           .rank = 4,
                           .dims = {kSamples, 1, 8, 8},
                           .data = images,
                           .bytes = sizeof images},
                          {.struct_size = sizeof(dlc_tensor),
                           .dtype = DLC_I64,
                           .rank = 1,
                           .dims = {kSamples},
                           .data = labels,
                           .bytes = sizeof labels}};
  dlc_tensor output = {
      .struct_size = sizeof output, .dtype = DLC_F32, .data = &loss, .bytes = sizeof loss};
  for (int step = 0; step < kSteps; ++step) {
    if (dlc_context_run(context, inputs, 2, &output, 1) != DLC_OK)
      return failed("run");
    if (step % 20 == 0)
      printf("step %2d: loss %.4f\n", step, loss);
  }

  float bias[10];
  for (size_t state = 0; state < dlc_module_num_states(module); ++state) {
    dlc_value_info info = {.struct_size = sizeof info};
    dlc_module_state(module, state, &info);
    if (!strcmp(info.name, "fc2_bias") &&
        dlc_context_read_state(context, state, bias, sizeof bias) == DLC_OK)
      printf("%s: %.4f ... %.4f\n", info.name, bias[0], bias[9]);
  }
  printf("loss %.4f after %d steps (%s)\n", loss, kSteps, dlc_context_device(context));
  dlc_context_free(context);
  dlc_module_free(module);
  return loss < 0.3f ? 0 : 1;
}
