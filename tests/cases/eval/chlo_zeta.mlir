// tolerance: 2e-6
module @chlo_zeta {
  func.func @main() -> (tensor<12xf32>, tensor<12xf32>, tensor<10xf32>, tensor<10xf32>, tensor<12xf64>, tensor<12xf64>) {
    %x = stablehlo.constant dense<"0x0000C03F00000040000040400000E8400000803F0000003F0000004000008040000040400000F04100002040CDCC8C3F"> : tensor<12xf32>
    %q = stablehlo.constant dense<"0x0000003F0000803F00002040000020410000404000000040000000BF000000C0000040C0000000400000C0BF0000C842"> : tensor<12xf32>
    %n = stablehlo.constant dense<"0x000000000000803F00000040000040400000A0400000803F0000003F000080BF000080400000803F"> : tensor<10xf32>
    %y = stablehlo.constant dense<"0x0000C03F0000803E00004040000020413333333F0000C0BF00000040000040400000484200007A44"> : tensor<10xf32>
    %w0 = stablehlo.constant dense<"0x67D99840338DD23F7ADFF13D1E6702340000807F0000C07FF3F40E410000807F0000C07F2C0080300000C07FE501CA40"> : tensor<12xf32>
    %w1 = stablehlo.constant dense<"0xA076153D2294894104D01DBE8509183B8B2A8044651116410000C07F0000C07FC81686B53723833A"> : tensor<10xf32>
    %w2 = stablehlo.constant dense<"0x656783C32C1B1340D3075362A651FA3FE6F07D32EF3BBE3F593200DEE34C803E000000000000F07F000000000000F87FEE22DF649EDE2140000000000000F07F000000000000F87FBEAE2A780500103E000000000000F87FA69707C53C401940"> : tensor<12xf64>
    %0 = chlo.zeta %x, %q : tensor<12xf32>, tensor<12xf32> -> tensor<12xf32>
    %1 = chlo.polygamma %n, %y : tensor<10xf32>, tensor<10xf32> -> tensor<10xf32>
    %2 = stablehlo.convert %x : (tensor<12xf32>) -> tensor<12xf64>
    %3 = stablehlo.convert %q : (tensor<12xf32>) -> tensor<12xf64>
    %4 = "chlo.zeta"(%2, %3) : (tensor<12xf64>, tensor<12xf64>) -> tensor<12xf64>
    return %0, %w0, %1, %w1, %4, %w2 : tensor<12xf32>, tensor<12xf32>, tensor<10xf32>, tensor<10xf32>, tensor<12xf64>, tensor<12xf64>
  }
}
