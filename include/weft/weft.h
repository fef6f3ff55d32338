/* weft/weft.h: includes all public headers except weft/short_names.h. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/base.h>
#include <weft/classes.h>
#include <weft/convolution.h>
#include <weft/device.h>
#include <weft/distributed.h>
#include <weft/events.h>
#include <weft/graph.h>
#include <weft/image_data.h>
#include <weft/images.h>
#include <weft/io.h>
#include <weft/losses.h>
#include <weft/metrics.h>
#include <weft/models.h>
#include <weft/nn.h>
#include <weft/normalization.h>
#include <weft/onnx.h>
#include <weft/ops.h>
#include <weft/plan.h>
#include <weft/profile.h>
#include <weft/recurrent.h>
#include <weft/schedules.h>
#include <weft/sharded_table.h>
#include <weft/text.h>
#include <weft/train.h>
#include <weft/vectors.h>

#endif
