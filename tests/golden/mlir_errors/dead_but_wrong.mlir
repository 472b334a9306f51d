func.func @main(%x: tensor<16x16xf32>) {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %less : tensor<f32>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}
