"""Writes tests/golden/*.safetensors: numbers from PyTorch that the C++ tests compare with."""
import os
import warnings

import attention_cases
import attention_demo
import layer_cases
import loss_cases
import model_cases
import movement_cases
import numpy_files
import op_cases
import optim_cases
import optimizer_cases
import parity_cases
import pointwise_cases
import reduction_cases
import schedule_cases
import selection_cases

if __name__ == "__main__":
    warnings.filterwarnings("ignore", "enable_nested_tensor|reduction: 'mean' divides")
    folder = os.path.dirname(os.path.abspath(__file__))
    for cases in (op_cases, attention_cases, layer_cases, model_cases, optim_cases, optimizer_cases, schedule_cases, reduction_cases,
                  movement_cases, pointwise_cases, loss_cases, selection_cases, parity_cases):
        cases.make().save(folder)
    total = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith(".safetensors"))
    if total > 2_000_000:
        raise SystemExit(f"golden files take {total} bytes together; the limit is 2,000,000")
    numpy_files.write()
    numpy_files.check()
    attention_demo.write(numpy_files.FOLDER)
