//===- MathCoefficients.h - Polynomials of the math expansion -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Printed by tools/scripts/math-coefficients; do not edit. Low orders first. The error is of the
// approximation alone, in units of the last place of a result in [1, 2).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_SCALAR_MATHCOEFFICIENTS_H
#define DLC_IR_SCALAR_MATHCOEFFICIENTS_H

// clang-format off
namespace dlc::coefficients {

/// e^r = 1 + r + r^2 p(r), |r| <= ln(2)/2. Error 0.031 ulp.
inline constexpr double expSingle[] = {
    0x1.fffff80000000p-2,
    0x1.55548e0000000p-3,
    0x1.555b980000000p-5,
    0x1.123bd60000000p-7,
    0x1.68513e0000000p-10,
};
/// e^r = 1 + r + r^2 p(r), |r| <= ln(2)/2. Error 0.00035 ulp.
inline constexpr double expDouble[] = {
    0x1p-1,
    0x1.555555555555cp-3,
    0x1.5555555555541p-5,
    0x1.111111110ea03p-7,
    0x1.6c16c16c1faa2p-10,
    0x1.a01a01b43ffedp-13,
    0x1.a01a0176e83f4p-16,
    0x1.71ddee8038f22p-19,
    0x1.27e540c1c8434p-22,
    0x1.af6e67fc3b711p-26,
    0x1.1ed993554526fp-29,
};
/// log(1+f) = f - f^2/2 + f^3 p(f), sqrt(1/2) <= 1+f <= sqrt(2). Error 0.0075 ulp.
inline constexpr double logSingle[] = {
    0x1.5555460000000p-2,
    -0x1.00000a0000000p-2,
    0x1.99a5460000000p-3,
    -0x1.555ae40000000p-3,
    0x1.232cfa0000000p-3,
    -0x1.fc4da00000000p-4,
    0x1.e7a54e0000000p-4,
    -0x1.dd65100000000p-4,
    0x1.11c8740000000p-4,
};
/// log((1+s)/(1-s)) = 2s + s^3 p(s^2), |s| <= 3 - sqrt(8). Error 0.0058 ulp.
inline constexpr double logDouble[] = {
    0x1.5555555555594p-1,
    0x1.999999997f73fp-2,
    0x1.249249423ac79p-2,
    0x1.c71c51d6d7e76p-3,
    0x1.746647f14b159p-3,
    0x1.39a0eaea502f7p-3,
    0x1.2f0ccd19fb262p-3,
};
/// tanh(x) = x + x^3 p(x^2), |x| <= 0.5625. Error 0.012 ulp.
inline constexpr double tanhSingle[] = {
    -0x1.5555480000000p-2,
    0x1.110c660000000p-3,
    -0x1.b907ce0000000p-5,
    0x1.58267e0000000p-6,
    -0x1.94d7160000000p-8,
};
/// tanh(x) = x + x^3 p(x^2), |x| <= 0.5625. Error 0.00016 ulp.
inline constexpr double tanhDouble[] = {
    -0x1.5555555555555p-2,
    0x1.11111111110a3p-3,
    -0x1.ba1ba1ba14d9dp-5,
    0x1.664f4880fbfb6p-6,
    -0x1.226e351677d08p-7,
    0x1.d6d3c1e524525p-9,
    -0x1.7da252e2742bcp-10,
    0x1.354a7bc07e2d3p-11,
    -0x1.f48667bcf545bp-13,
    0x1.9057fb11f449cp-14,
    -0x1.2e5d7e3639269p-15,
    0x1.75d4ddb68ce95p-17,
    -0x1.0531101bea5b0p-19,
};
/// erf(x) = x + x p(x^2), |x| <= 1. Error 0.0072 ulp.
inline constexpr double erfNearSingle[] = {
    0x1.06eba80000000p-3,
    -0x1.8127440000000p-2,
    0x1.ce2ea20000000p-4,
    -0x1.b822320000000p-6,
    0x1.55e0ee0000000p-8,
    -0x1.b9d5560000000p-11,
    0x1.c8c8b00000000p-14,
    -0x1.2307bc0000000p-17,
};
/// erf(x) = x + x p(x^2), |x| <= 1. Error 0.05 ulp.
inline constexpr double erfNearDouble[] = {
    0x1.06eba8214db69p-3,
    -0x1.812746b037a05p-2,
    0x1.ce2f21a043f14p-4,
    -0x1.b82ce312e43b7p-6,
    0x1.565bcd1de7b9dp-8,
    -0x1.c02db74d273d2p-11,
    0x1.f9a39f6edc72ep-14,
    -0x1.f4de487a89888p-17,
    0x1.babcd3bcd8f5dp-20,
    -0x1.6a291a0fc1050p-23,
    0x1.5f8a769dce1d7p-26,
    -0x1.858e9632570aap-28,
    0x1.483aea0ae1010p-29,
    -0x1.8562db4f40371p-31,
    0x1.a8e39ad422ca3p-34,
};
/// erf(x) = 1 - e^p(x), 1 <= x <= 4. Error 0.0002 ulp.
inline constexpr double erfFarSingle[] = {
    0x1.9179ac0000000p-13,
    -0x1.212d0e0000000p+0,
    -0x1.4431980000000p-1,
    -0x1.bc34980000000p-4,
    0x1.9d4fc40000000p-6,
    -0x1.13fac60000000p-8,
    0x1.d01dc60000000p-12,
    -0x1.6d9afe0000000p-16,
};
/// erf(x) = 1 - e^(-x^2) p((x-2)/(x+2)), 1 <= x <= 6. Error 0.00035 ulp.
inline constexpr double erfFarDouble[] = {
    0x1.058671b52c776p-2,
    -0x1.b57034efd3f71p-2,
    0x1.eeea7dc8a7869p-3,
    -0x1.437f0b68c175dp-4,
    0x1.e9471597ee380p-9,
    0x1.ca95ed5929161p-8,
    -0x1.bc25a418995e4p-11,
    -0x1.016b614ddd426p-10,
    0x1.6d5c44d8d916ep-15,
    0x1.6dab990406970p-13,
    0x1.ce6d6e60e825bp-16,
    -0x1.ce60b490665eap-16,
    -0x1.e2778a2177f6ep-17,
    0x1.dd7efd7571431p-22,
    0x1.3f16ddefeaf38p-18,
    0x1.c147ecbe61939p-18,
    0x1.4501934956780p-18,
};
/// erfc(x) = e^(-x^2) u p(1 - 4u), u = 1 / (x + 2), 0.625 <= x <= 10.1. Error 0.14 ulp.
inline constexpr double erfcSingle[] = {
    0x1.0586720000000p+0,
    -0x1.5fd3860000000p-1,
    0x1.1e2db80000000p-2,
    -0x1.2a8a080000000p-5,
    -0x1.60407a0000000p-6,
    0x1.a8fe560000000p-8,
    0x1.8d227a0000000p-9,
    -0x1.c332680000000p-11,
    -0x1.0caff20000000p-11,
    0x1.3b78a40000000p-14,
};
/// erfc(x) = e^(-x^2) u p(1 - 4u), u = 1 / (x + 2), 0.625 <= x <= 27.3. Error 0.075 ulp.
inline constexpr double erfcDouble[] = {
    0x1.058671b52c776p+0,
    -0x1.5fd386754eff9p-1,
    0x1.1e2deea6b113ep-2,
    -0x1.2a88e6107d2adp-5,
    -0x1.606e41551f716p-6,
    0x1.a89eaff80d37ep-8,
    0x1.9517bb69f168dp-9,
    -0x1.b6fbf941f4740p-11,
    -0x1.5ba4376a7ff3ap-11,
    0x1.2053bf4ec83efp-15,
    0x1.2efa287f46c83p-13,
    0x1.1e78f5557b7e4p-15,
    -0x1.6c0848ca7c229p-16,
    -0x1.0e8d15f269a12p-16,
    -0x1.2a6a015889ed1p-20,
    0x1.e9d93d178d24ep-19,
    0x1.0608d66d1f70bp-19,
    0x1.1c632bd31134ep-25,
    -0x1.087bd8180abf8p-21,
    -0x1.de9012a892858p-22,
    -0x1.e036308d03403p-27,
    0x1.0726bcdab1ef3p-22,
    -0x1.ab2b08a9744dbp-26,
    -0x1.92a6ad08adab2p-26,
};
/// log((1+s)/(1-s)) = 2s + 2/3 s^3 + s^5 p(s^2), |s| <= 3 - sqrt(8). Error 6.5e-7 ulp.
inline constexpr double logTailSingle[] = {
    0x1.9999980000000p-2,
    0x1.2493ac0000000p-2,
    0x1.c644a60000000p-3,
    0x1.8fedc40000000p-3,
};
/// log((1+s)/(1-s)) = 2s + 2/3 s^3 + s^5 p(s^2), |s| <= 3 - sqrt(8). Error 3.1e-8 ulp.
inline constexpr double logTailDouble[] = {
    0x1.999999999999ap-2,
    0x1.249249249235bp-2,
    0x1.c71c71c74c18cp-3,
    0x1.745d17265a9d8p-3,
    0x1.3b13bdbfb7e78p-3,
    0x1.110dec13aa9cap-3,
    0x1.e2e33bbc206adp-4,
    0x1.95c477c1de49ep-4,
    0x1.77483cdccf019p-3,
    -0x1.c92fb6e0a62d6p-2,
};
/// sin(x) = x + x^3 p(x^2), |x| <= pi/4. Error 0.0016 ulp.
inline constexpr double sinSingle[] = {
    -0x1.5555560000000p-3,
    0x1.1111660000000p-7,
    -0x1.a04a800000000p-13,
    0x1.7869fa0000000p-19,
};
/// sin(x) = x + x^3 p(x^2), |x| <= pi/4. Error 0.00053 ulp.
inline constexpr double sinDouble[] = {
    -0x1.5555555555555p-3,
    0x1.1111111111089p-7,
    -0x1.a01a01a0065d0p-13,
    0x1.71de3a3f6993ep-19,
    -0x1.ae643c591daf8p-26,
    0x1.61141103ed6e8p-33,
    -0x1.a5142bdbf11b4p-41,
};
/// cos(x) = 1 - x^2/2 + x^4 p(x^2), |x| <= pi/4. Error 0.00091 ulp.
inline constexpr double cosSingle[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c2e0000000p-10,
    0x1.99eacc0000000p-16,
};
/// cos(x) = 1 - x^2/2 + x^4 p(x^2), |x| <= pi/4. Error 9.5e-6 ulp.
inline constexpr double cosDouble[] = {
    0x1.5555555555555p-5,
    -0x1.6c16c16c16b45p-10,
    0x1.a01a01a00120fp-16,
    -0x1.27e4fb5fbf170p-22,
    0x1.1eed765ce7f2fp-29,
    -0x1.937c68c1c7ea0p-37,
    0x1.a1615bd4111e6p-45,
};
/// asin(x) = x + x^3 p(x^2), |x| <= 1/2. Error 0.0025 ulp.
inline constexpr double asinSingle[] = {
    0x1.55554c0000000p-3,
    0x1.33389a0000000p-4,
    0x1.6caba00000000p-5,
    0x1.04a60c0000000p-5,
    0x1.d82adc0000000p-7,
    0x1.339b940000000p-5,
};
/// asin(x) = x + x^3 p(x^2), |x| <= 1/2. Error 0.0003 ulp.
inline constexpr double asinDouble[] = {
    0x1.5555555555553p-3,
    0x1.33333333339d7p-4,
    0x1.6db6db6d4dba5p-5,
    0x1.f1c71ca62329bp-6,
    0x1.6e8b9b3481269p-6,
    0x1.1c4f80135ad8dp-6,
    0x1.c9817886701dep-7,
    0x1.7b9e67cfb9ea2p-7,
    0x1.36eaf7c896752p-7,
    0x1.47480ce0dce89p-7,
    0x1.8bdbc107ad8a5p-11,
    0x1.9429a76996149p-6,
    -0x1.a91e63c319ddcp-6,
    0x1.12aa0f89cfaa7p-5,
};
/// atan(x) = x + x^3 p(x^2), |x| <= sqrt(2) - 1. Error 0.0064 ulp.
inline constexpr double atanSingle[] = {
    -0x1.5555480000000p-2,
    0x1.9991280000000p-3,
    -0x1.23ae5c0000000p-3,
    0x1.b1952a0000000p-4,
    -0x1.f0647e0000000p-5,
};
/// atan(x) = x + x^3 p(x^2), |x| <= sqrt(2) - 1. Error 8.5e-5 ulp.
inline constexpr double atanDouble[] = {
    -0x1.5555555555555p-2,
    0x1.99999999998c3p-3,
    -0x1.249249248bd1dp-3,
    0x1.c71c71c3cb441p-4,
    -0x1.745d16c082516p-4,
    0x1.3b13a369147f7p-4,
    -0x1.111013ca6739cp-4,
    0x1.e1c83189a7f06p-5,
    -0x1.ae395d98db1bep-5,
    0x1.7fde05403a6c2p-5,
    -0x1.46c486370969fp-5,
    0x1.cfd952a5a4333p-6,
    -0x1.84357c15f9ccep-7,
};
/// P(-s) = P(-c) 2^(t (slope + p(t))), t = s - c, 0 <= s <= 6.3, c = 1.1875. Error 0.13 ulp.
inline constexpr double normalExponentSingle[] = {
    0x1.2910620000000p-1,
    -0x1.2f667a0000000p-1,
    -0x1.9580360000000p-6,
    0x1.14bb1a0000000p-8,
    -0x1.243d780000000p-11,
    0x1.1191c80000000p-15,
    0x1.3d07a20000000p-17,
    -0x1.f4c6e80000000p-19,
    0x1.4c19960000000p-21,
    -0x1.6ce7720000000p-25,
};
/// P(-c) 2^r = p(r), |r| <= 1/2. Error 0.029 ulp.
inline constexpr double normalPowerSingle[] = {
    0x1.e157a60000000p-4,
    0x1.4da4200000000p-4,
    0x1.ce86460000000p-6,
    0x1.ab75900000000p-8,
    0x1.2856240000000p-10,
    0x1.4a10740000000p-13,
    0x1.29d22a0000000p-16,
};

inline constexpr double ln2HighSingle = 0x1.62e4000000000p-1;
inline constexpr double ln2LowSingle = 0x1.7f7d1c0000000p-20;
inline constexpr double log2eSingle = 0x1.7154760000000p+0;
inline constexpr double inverseLn2HighSingle = 0x1.7154760000000p+0;
inline constexpr double inverseLn2LowSingle = 0x1.4ae0c00000000p-26;
inline constexpr double log10Of2HighSingle = 0x1.3440000000000p-2;
inline constexpr double log10Of2LowSingle = 0x1.3509f80000000p-18;
inline constexpr double inverseLn10HighSingle = 0x1.bcb7b20000000p-2;
inline constexpr double inverseLn10LowSingle = -0x1.5b235e0000000p-27;
inline constexpr double twoThirdsHighSingle = 0x1.5555560000000p-1;
inline constexpr double twoThirdsLowSingle = -0x1.5555560000000p-26;
inline constexpr double twoOverPiSingle = 0x1.45f3060000000p-1;
inline constexpr double halfPiHighSingle = 0x1.921fb60000000p+0;
inline constexpr double halfPiMiddleSingle = -0x1.777a5c0000000p-25;
inline constexpr double halfPiLowSingle = -0x1.ee59da0000000p-50;
inline constexpr double quarterPiHighSingle = 0x1.921fb00000000p-1;
inline constexpr double quarterPiLowSingle = 0x1.5110b40000000p-23;
inline constexpr double ln2HighDouble = 0x1.62e42fefa4000p-1;
inline constexpr double ln2LowDouble = -0x1.8432a1b0e2634p-43;
inline constexpr double log2eDouble = 0x1.71547652b82fep+0;
inline constexpr double inverseLn2HighDouble = 0x1.71547652b82fep+0;
inline constexpr double inverseLn2LowDouble = 0x1.777d0ffda0d24p-56;
inline constexpr double log10Of2HighDouble = 0x1.34413509f8000p-2;
inline constexpr double log10Of2LowDouble = -0x1.80433b83b532ap-44;
inline constexpr double inverseLn10HighDouble = 0x1.bcb7b1526e50ep-2;
inline constexpr double inverseLn10LowDouble = 0x1.95355baaafad3p-57;
inline constexpr double twoThirdsHighDouble = 0x1.5555555555555p-1;
inline constexpr double twoThirdsLowDouble = 0x1.5555555555555p-55;
inline constexpr double twoOverPiDouble = 0x1.45f306dc9c883p-1;
inline constexpr double halfPiHighDouble = 0x1.921fb54442d18p+0;
inline constexpr double halfPiMiddleDouble = 0x1.1a62633145c07p-54;
inline constexpr double halfPiLowDouble = -0x1.f1976b7ed8fbcp-110;
inline constexpr double quarterPiHighDouble = 0x1.921fb54442d18p-1;
inline constexpr double quarterPiLowDouble = 0x1.1a62633145c07p-55;
inline constexpr double normalCentreSingle = 0x1.3000000000000p+0;
inline constexpr double normalSlopeSingle = -0x1.8000000000000p+1;
/// 2 / pi in pieces of 28 bits.
inline constexpr unsigned twoOverPiPiecesSingle[] = {
    170891318, 240010261, 44024437, 131200308, 232525238, 43358524, 70845471,
};
/// 2 / pi in pieces of 26 bits.
inline constexpr unsigned twoOverPiPiecesDouble[] = {
    42722829, 48555073, 21659401, 56087029, 13858563, 28715353, 38736100, 4324945,
    26128250, 62674459, 29957006, 37899730, 58726692, 49193117, 6588223, 35515164,
    46442140, 65964067, 24988590, 54822121, 41009306, 54917092, 5137525, 37323603,
    15192690, 4585659, 58608142, 52426903, 67074070, 25231090, 63202006, 34237727,
    28629499, 15891632, 40752081, 37709470, 25143477, 55737260, 33225084, 24853767,
    15195689, 19476134, 50255852, 18845021, 2185228, 50622407,
};

} // namespace dlc::coefficients
// clang-format on

#endif // DLC_IR_SCALAR_MATHCOEFFICIENTS_H
