module@j{
  func c @ain(%arg0: tensor<2x4x8x8xf32>, %arg1: tensor<6x2x3x3xf32> {ja}) {%0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0,01]x[o, i, 0, 1]->[b,f,0, 1], window = {str = [1, 1], pad = [[1, 1], [2, 0]], lhs_dilate = [1, 2], rhs_dilate= [2, 1], rs = [salse]} {batnt = 164, feature_group_count =2, pre} : (tensor<2x3xf32>) -> tensor<2x6x6x15xf32>
    return %0 :tensor<25xf32>
  }
}
