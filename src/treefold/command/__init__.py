"""The commands `fit`, `predict` and `show`, in the order of the data.

    mistakes, options       what the user is told; what the user asked
    outputs                 the files that are written: all or none
    notation, dates         how people write numbers; how they write dates
    heading                 whether the first line holds names
    sniffing, reading       which kind of file it is; its rows, at once or batch by batch
    codes, recognition      which digits are names; which text columns are numbers or dates
    target, timing, triage  what is to be predicted; whether rows follow in time; which columns
                            are used, and why not the others
    conversion              columns of other files as the model knows them
    folds, measures         who holds out which rows; which score decides
    fitting                 the tree, with all of its evidence; what it found: `treefold.findings`
    drawing, words          the tree, the path of scores; the findings as text
    order                   whether the rows follow in an order that matters
    report                  the findings as one HTML file: see `treefold.reporting`
    testing                 the score on a file of its own
    predict                 answers, row by row
    show                    a model file as text, JSON, DOT, SQL or SVG

Options and exit codes are `treefold.cli`'s.
"""
