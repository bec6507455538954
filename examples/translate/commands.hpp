#pragma once

/// What `translate COMMAND` does. Each takes the arguments from the command on, and returns the exit status.
/// @throws UsageError, HelpShown, tapeform::Error.
namespace examples::translate {

int train_command(int argc, const char* const* argv);      ///< a new run, from text to weights
int resume_command(int argc, const char* const* argv);     ///< goes on with a run
int test_command(int argc, const char* const* argv);       ///< scores a run on its test set
int translate_command(int argc, const char* const* argv);  ///< standard input to standard output, line by line
int plot_command(int argc, const char* const* argv);       ///< a page with the attention of one sentence
int average_command(int argc, const char* const* argv);    ///< the mean of several files of weights
int info_command(int argc, const char* const* argv);       ///< what a run is and how it went

}  // namespace examples::translate
