# The settings of `make run`, for a shell that wants to talk to it: `. examples/environment.sh`.
export RESCRIPTUM_ANSWERS_DIR=run/answers
export RESCRIPTUM_MEDIA_DIR=run/media
export RESCRIPTUM_BOOT_DIR=run/boot
export RESCRIPTUM_TFTP_ADDR=0.0.0.0:6969
