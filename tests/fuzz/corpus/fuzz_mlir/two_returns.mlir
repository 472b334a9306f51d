module @loop{
  func.func @min(%arg0: tensor<4xf32>, %arg1: tensor<i32>, %arg2: tensor<4xf32>)-> (tensor<4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>%one = stablehlo.constant dense<1> : tensor<i32>
 %0:4 = stablehlo.while(%i = %c, %a = %arg0, %n = %arg1, %k =%one) : tensor<i32>, tensor<4xui8>, tensor<i32>, tensor<i32> cond {
 b:  tensor<i1>
  } do {
      %1 = stablehlo.add %i, %k : tensor<i32>
    %2:2 = stablehlo.while(%j = %c, %b = %a) : tensor<i32>, tensor<4xf32>
     cond {
  } do {
      %4 = stablehlo.add %j, %k : tensor<i32>
  %5 = stablehlo.add %b, %arg2 : tensor<4xf32>
    sdy.return    stablehlo.return %4, %5 : tensor<4xf32>  }
     stablehlo.return %1, %2#1, %n, %k : tensor<i32>
   }}
}
