module @chlo_scan {
  func.func @main() -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %a = stablehlo.constant dense<"0x0000803F0000004000004040000080400000A0400000C040"> : tensor<3x2xf32>
    %c = stablehlo.constant dense<"0x000020410000A041"> : tensor<2xf32>
    %w0 = stablehlo.constant dense<"0x000030410000B041000050410000304200000C4200002643"> : tensor<3x2xf32>
    %w1 = stablehlo.constant dense<"0x0000164300007044"> : tensor<2xf32>
    %w2 = stablehlo.constant dense<"0x000017430000F143000054420000F842000070410000D041"> : tensor<3x2xf32>
    %w3 = stablehlo.constant dense<"0x0000164300007044"> : tensor<2xf32>
    %0:2 = chlo.scan(%a) inits (%c) dimension = 0 attributes {is_reverse = false} {
    ^bb0(%in: tensor<2xf32>, %carry: tensor<2xf32>):
      %sum = stablehlo.add %in, %carry : tensor<2xf32>
      %next = stablehlo.multiply %in, %carry : tensor<2xf32>
      stablehlo.return %sum, %next : tensor<2xf32>, tensor<2xf32>
    } : (tensor<3x2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
    %1:2 = chlo.scan(%a) inits (%c) dimension = 0 attributes {is_reverse = true} {
    ^bb0(%in: tensor<2xf32>, %carry: tensor<2xf32>):
      %sum = stablehlo.add %in, %carry : tensor<2xf32>
      %next = stablehlo.multiply %in, %carry : tensor<2xf32>
      stablehlo.return %sum, %next : tensor<2xf32>, tensor<2xf32>
    } : (tensor<3x2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
    return %0#0, %w0, %0#1, %w1, %1#0, %w2, %1#1, %w3 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
