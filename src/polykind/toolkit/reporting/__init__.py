"""Reports for people and for CI systems, shared by the commands of the toolkit.

terminal             colour, tables and progress bars
html_builder         HTML in which all text is escaped
html_page            one self-contained page with its styles and script
html_components      the parts of a page: verdict, matrix, diffs, timeline, bars, tables
problem              a problem with its position in a file, the input of the following three
junit_report         JUnit XML
sarif_report         SARIF 2.1.0
github_annotations   workflow commands of GitHub Actions
source_positions     files and lines of functions, rules and YAML fields
line_diff            aligned lines of two or three texts
"""
