"""Machines from data sheets: unknown masses, centres of mass and tipping lines, fitted to published loads.

    sheet = read_sheet('config/sheets/cat_m318d.yaml')      # sheet
    fitted = fit_sheet(sheet)                               # fit
    predict(fitted, [{'chart': 'va_stick_2500', 'radius_m': 6.0, 'height_m': 1.5, ...}])   # prediction
    write_machine(fitted, 'va_stick_2500', Path('m318d'))   # machine_files

A kind of machine (`kinds`) returns the statics of every cell of a chart; `statics` has the tipping load.
"""
