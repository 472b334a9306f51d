module @zeta {
  func.func public @main() -> (tensor<8xf32>, tensor<8xf32>) {
    %x = stablehlo.constant dense<[1.0, 0.5, 1.5, 2.0, 3.0, 2.0, 1.25, 10.0]> : tensor<8xf32>
    %q = stablehlo.constant dense<[1.0, 2.0, 0.5, -1.5, -2.0, -1.0, 40.0, 7.0]> : tensor<8xf32>
    %n = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 1.5, -1.0, 0.0, 1.0]> : tensor<8xf32>
    %y = stablehlo.constant dense<[1.0, 2.0, 0.5, 3.0, 2.0, 2.0, -0.5, -1.0]> : tensor<8xf32>
    %0 = chlo.zeta %x, %q : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
    %1 = chlo.polygamma %n, %y : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
