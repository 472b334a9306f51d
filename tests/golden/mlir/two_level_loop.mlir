module @loops {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<i32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:4 = stablehlo.while(%i = %c, %a = %arg0, %n = %arg1, %k = %one) : tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %k : tensor<i32>
      %2:2 = stablehlo.while(%j = %c, %b = %a) : tensor<i32>, tensor<4xf32>
      cond {
        %4 = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %4 : tensor<i1>
      } do {
        %4 = stablehlo.add %j, %k : tensor<i32>
        %5 = stablehlo.add %b, %arg2 : tensor<4xf32>
        stablehlo.return %4, %5 : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %1, %2#1, %n, %k : tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<i32>
    }
    %3 = "stablehlo.case"(%0#3) ({
      stablehlo.return %0#1 : tensor<4xf32>
    }, {
      %4 = stablehlo.multiply %0#1, %arg2 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0#1, %3 : tensor<4xf32>, tensor<4xf32>
  }
}
