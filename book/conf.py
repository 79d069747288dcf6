"""How Sphinx makes the book, in the language of the course's setting."""

import gc
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.language import current

# Sphinx keeps what it reads: to look through it for garbage took a quarter of the time.
gc.set_threshold(100_000, 50, 100)

_BOOK = Path(__file__).parent

project = "tiny-llm"
author = say("book.about.authors")
project_copyright = say("book.about.copyright")
language = {"zh": "zh_CN"}.get(current(), current())  # as Sphinx calls it

extensions = [
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "tiny_llm_course.book.formulas",
    "tiny_llm_course.book.chapter_data",
    "tiny_llm_course.book.sources",
    "tiny_llm_course.book.teaching",
    "tiny_llm_course.book.figures",
    "tiny_llm_course.book.model_map",
    "tiny_llm_course.book.tables",
    "tiny_llm_course.book.transcripts",
    "tiny_llm_course.book.sections",
    "tiny_llm_course.book.languages",
    "tiny_llm_course.book.interface",
    "tiny_llm_course.book.finishing",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_math_renderer = "katex"
html_theme = "furo"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_title = project
html_favicon = str(_BOOK / "static" / "icon.svg")
html_static_path = [str(_BOOK / "static")]
exclude_patterns = ["STYLE.md"]  # for translators
templates_path = [str(_BOOK / "templates")]
html_css_files = ["book.css"]
html_js_files = [("opening.js", {"defer": "defer"})]
html_show_sphinx = False
html_search_language = "en"  # ours, which knows all languages
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

_FONTS = {
    # Of the reader's machine, Chinese ones included: nothing is downloaded.
    "font-stack": (
        "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Noto Sans', Ubuntu, "
        "Cantarell, 'Helvetica Neue', Arial, 'Liberation Sans', 'PingFang SC', "
        "'Hiragino Sans GB', 'Microsoft YaHei', 'Noto Sans CJK SC', "
        "'Source Han Sans SC', sans-serif"
    ),
    "font-stack--monospace": (
        "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', "
        "'Noto Sans Mono CJK SC', monospace"
    ),
}
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": _FONTS
    | {
        "color-brand-primary": "#0a5cad",
        "color-brand-content": "#0a5cad",
        "color-brand-visited": "#6b3fa0",
        "figure-ink": "#1c2128",
        "figure-muted": "#59636e",
        "figure-grid": "#d8dee4",
        "figure-paper": "#ffffff",
        "figure-1": "#0a5cad",
        "figure-2": "#b8410a",
        "figure-3": "#137333",
        "figure-4": "#7a3fb5",
        "figure-5": "#8a6100",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7ab8ff",
        "color-brand-content": "#7ab8ff",
        "color-brand-visited": "#c3a1f5",
        "figure-ink": "#e6e8eb",
        "figure-muted": "#a9b1ba",
        "figure-grid": "#3a4149",
        "figure-paper": "#131416",
        "figure-1": "#6fb3ff",
        "figure-2": "#ff9d66",
        "figure-3": "#6bd490",
        "figure-4": "#cba6ff",
        "figure-5": "#e2c15a",
    },
}
