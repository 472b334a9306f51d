module {
  sdy.mesh @m = <["\00"=2]>
  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
    return %arg0 : tensor<f32>
  }
}
