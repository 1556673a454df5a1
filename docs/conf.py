from fmarl import __version__

project = "fmarl"
release = version = __version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"fmarl {__version__}"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
