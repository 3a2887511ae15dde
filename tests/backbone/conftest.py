import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models are quicker on one thread, and leave the other cores to others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
