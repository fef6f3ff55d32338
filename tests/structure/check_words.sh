#!/bin/sh
# Names that docs/glossary.md has replaced do not come back: each had a word that meant several things.
# Usage: check_words.sh TREE
# test: @source@
set -u
tree=$1
here=$(basename "$0")
old='WI_LEAF|WI_VALUE_LEAF|wi_make_leaf|wi_take_leaf|is_leaf_member'
old="$old|wi_fold|wi_fold_mode|wi_folds_lanes|wi_fold_condition|WI_FOLD_[A-Z]+|weft_fold_[a-z]+|WI_ARGUMENT_FOLD"
old="$old|wi_op_spread|wi_spread_dims|WI_ARGUMENT_TURN|WI_KERNEL_TURN|wi_kernel_turn|wi_may_be_turned"
old="$old|WI_FORM_PART|WI_FORM_FINISH|wi_reduction_slots|wi_reduction_pieces|wi_emit_part_[a-z]+|wi_never_rest"
old="$old|weft_(load|store)_part_[a-z0-9]*|wi_assign_parts?|wi_scan_parts|wi_pass_parts|wi_report_parts"
old="$old|wi_windows|wi_windows_of|wi_take_windows|WI_PASS_WINDOW|wi_conversions|layout_changes|wi_find_spilled"
old="$old|wi_order|wi_order_of|wi_order_moves|WI_FROM_MEMORY|WI_TO_MEMORY|weft_place|wi_op_place|fault_place"
old="$old|wi_op_partition|WEFT_AHEAD|WEFT_AHEAD_STEP|WEFT_STORED|WEFT_STORED_STEP|WEFT_R_AHEAD|wi_emit_pass"
cd "$tree" || exit 1
set --
for folder in include src cl_kernels tests programs samples tools workloads; do
    [ -d "$folder" ] && set -- "$@" "$folder"
done
[ $# -gt 0 ] || { echo "no code in $tree"; exit 1; }
if grep -rnwE --include='*.[ch]' --include='*.cl' --include='*.clh' "($old)" "$@"; then
    echo "$here: docs/glossary.md has other names for these"
    exit 1
fi
