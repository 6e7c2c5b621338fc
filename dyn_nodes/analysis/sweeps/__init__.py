"""Many runs of one machine: factors, designs, outcomes, parts on disk, processes.

    sweep = load_sweep('log_loader_tip_over')                            # sweep_file
    run_sweep(sweep, Path('runs/tip_over'), LocalWorkers(jobs=2))        # driver, workers

Its modules are imported separately: a worker does not need the modules for writing.
"""
