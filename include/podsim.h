/* podsim's public interface: simulate a JAX program on a pod of TPU chips from another program.
 *
 *     ps_run *run = ps_run_new("configs/v5e_4x2.ini", "program.hlo");
 *     ps_run_flag(run, "mesh", "data=2,model=4");
 *     if (ps_run_execute(run) == 0) printf("%g s\n", ps_run_metric(run, "time_seconds"));
 *     else fputs(ps_run_message(run), stderr);
 *     ps_run_free(run);
 *
 * The engine can be started once a process: a second ps_run_execute() fails; fork for each further run.
 * Texts that are returned belong to the run and live as long as it does. */
#ifndef PODSIM_H
#define PODSIM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ps_run ps_run;

/* A run of a program (HLO text) on a pod (INI file). Nothing is read yet. */
ps_run *ps_run_new(const char *config_path, const char *program_path);

/* A flag of the command line by its long name without dashes; value NULL for a switch. 0, or 2 where there is
 * no such flag. */
int ps_run_flag(ps_run *run, const char *flag, const char *value);

/* Reads, partitions and simulates, and writes the files that flags asked for. Gives the exit code that the
 * command line would. */
int ps_run_execute(ps_run *run);

/* The error of the last call with its place and hint, or an empty text. */
const char *ps_run_message(const ps_run *run);

/* A figure of summary.json by its name; NaN where there is none of that name, or nothing was simulated. */
double ps_run_metric(const ps_run *run, const char *name);

/* The summary that the command line prints. */
const char *ps_run_summary(const ps_run *run);

void ps_run_free(ps_run *run);

/* The version, as in "0.1.0". */
const char *ps_version(void);

#ifdef __cplusplus
}
#endif

#endif
