import io

from rich.console import Console

from cuter.stream.download.bytes_bar import bytes_bar


def shown(terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80)
    with bytes_bar(console) as progress:
        progress("fetching VOCtrainval_06-Nov-2007.tar", 400_000_000, 1_000_000_000)  # a part was there
        progress("fetching VOCtrainval_06-Nov-2007.tar", 1_000_000_000, 1_000_000_000)
        progress("checking VOCtrainval_06-Nov-2007.tar", 1_000_000, 1_000_000_000)
        console.print("said in between")
    return file.getvalue()


def test_one_thing_after_another_is_shown():
    text = shown(terminal=True)
    assert "fetching VOCtrainval_06-Nov-2007.tar" in text
    assert "0.4/1.0 GB" in text, "not broken over two lines"
    assert "said in between" in text
    assert "checking VOCtrainval_06-Nov-2007.tar" in text[text.index("0.4/1.0 GB") :]


def test_nothing_is_shown_where_nobody_looks():
    assert shown(terminal=False) == "said in between\n"
