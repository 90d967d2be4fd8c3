"""Write the results in the READMEs, from the committed results tables, and the front picture.

    python workflow/readme.py

The README gets the picture and the main claim of each paper with its verdict, between markers.
The README of ``results/`` gets each chapter's main table and the verdicts on all claims.
"""

from synthesis import readme

if __name__ == "__main__":
    readme.write()
