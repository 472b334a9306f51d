module @stri{
  func.func li @main(%arg0: tensor<4xf32> {jax.r}) {
    %0 = stablehlo.custom_call @tpu_call(%arg0) {d_con = "ök", mhlo.frontend_attributes = {lm$= "{\}"}, d_outs = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>return %0 : tensor<4xf32>
 }
}
