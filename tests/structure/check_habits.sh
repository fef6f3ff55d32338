#!/bin/sh
# docs/from-pytorch.md names what programs in PyTorch are made of, so that its reader finds each by searching for it.
# Usage: check_habits.sh ROOT
# test: @source@
set -eu
page=$1/docs/from-pytorch.md
[ -f "$page" ] || { echo "$page is not there"; exit 1; }
bad=0

habits='nn.Module nn.Sequential nn.Linear nn.Parameter register_buffer nn.init nn.Dropout nn.MultiheadAttention
scaled_dot_product_attention nn.LSTM pack_padded_sequence torch.where torch.einsum torch.cat gather topk F.cross_entropy
ignore_index channels_last torch.no_grad torch.inference_mode requires_grad_ detach() autograd.grad autograd.Function
register_forward_hook zero_grad clip_grad_norm_ lr_scheduler AveragedModel autocast GradScaler set_float32_matmul_precision
utils.checkpoint torch.compile manual_seed use_deterministic_algorithms DataLoader TensorDataset random_split
WeightedRandomSampler collate_fn pin_memory transforms ImageFolder state_dict load_state_dict torch.save torch.load
strict=False pretrained ONNX DistributedDataParallel item() torch.profiler cuda.synchronize memory_allocated detect_anomaly
TensorBoard tqdm torchmetrics model.train() model.eval() model.parameters() print(model) quantisation vmap numel()
enable_gqa past_key_values rotary x[mask] torch.randint'
for habit in $habits 'early stopping' 'weight tying' 'parameter groups' 'accumulating gradients'; do
    grep -qF -e "$habit" "$page" || { echo "docs/from-pytorch.md does not name $habit"; bad=1; }
done
exit $bad
