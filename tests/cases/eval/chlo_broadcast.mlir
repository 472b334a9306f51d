module @chlo_broadcast {
  func.func @main() -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2x3xi32>, tensor<2x3xi32>) {
    %a = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
    %b = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
    %c = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
    %d = stablehlo.constant dense<[100, 200]> : tensor<2xi32>
    %w0 = stablehlo.constant dense<[[10, 21, 32], [13, 24, 35]]> : tensor<2x3xi32>
    %w1 = stablehlo.constant dense<[[0, 1, 2], [6, 8, 10]]> : tensor<2x3xi32>
    %w2 = stablehlo.constant dense<[[100, 101, 102], [203, 204, 205]]> : tensor<2x3xi32>
    %w3 = stablehlo.constant dense<[[-9, -19, -29], [-8, -18, -28]]> : tensor<2x3xi32>
    %w4 = stablehlo.constant dense<[[false, false, true], [true, true, true]]> : tensor<2x3xi1>
    %f = stablehlo.constant dense<"0x0000807F000080FF0000C07F0000803F"> : tensor<4xf32>
    %w5 = stablehlo.constant dense<[true, true, false, false]> : tensor<4xi1>
    %w6 = stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
    %w7 = stablehlo.constant dense<[false, true, false, false]> : tensor<4xi1>
    %w8 = stablehlo.constant dense<[[0, 2, 4], [6, 8, 10]]> : tensor<2x3xi32>
    %0 = chlo.broadcast_add %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %1 = chlo.broadcast_multiply %a, %c : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
    %2 = chlo.broadcast_add %a, %d {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
    %3 = chlo.broadcast_subtract %c, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %4 = chlo.broadcast_compare %c, %a {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x1xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %5 = chlo.is_inf %f : tensor<4xf32> -> tensor<4xi1>
    %6 = chlo.is_pos_inf %f : tensor<4xf32> -> tensor<4xi1>
    %7 = chlo.is_neg_inf %f : tensor<4xf32> -> tensor<4xi1>
    %8 = chlo.broadcast_add %a, %a : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    return %0, %w0, %1, %w1, %2, %w2, %3, %w3, %4, %w4, %5, %w5, %6, %w6, %7, %w7, %8, %w8 : tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2x3xi32>, tensor<2x3xi32>
  }
}
