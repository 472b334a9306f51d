module @dense_resource {
  func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<2x2xi16>, tensor<2x2xi16>, tensor<3xi1>, tensor<3xi1>) {
    %0 = stablehlo.constant dense_resource<floats> : tensor<3xf32>
    %1 = stablehlo.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
    %2 = stablehlo.constant dense_resource<"whole numbers"> : tensor<2x2xi16>
    %3 = stablehlo.constant dense<[[1, 2], [-1, 256]]> : tensor<2x2xi16>
    %4 = stablehlo.constant dense_resource<flags> : tensor<3xi1>
    %5 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    return %0, %1, %2, %3, %4, %5 : tensor<3xf32>, tensor<3xf32>, tensor<2x2xi16>, tensor<2x2xi16>, tensor<3xi1>, tensor<3xi1>
  }
}

{-#
  dialect_resources: {
    builtin: {
      floats: "0x040000000000803F000000C00000003F",
      "whole numbers": "0x0200000001000200FFFF0001",
      flags: "0x01000000010001"
    }
  }
#-}
