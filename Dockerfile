# The course in a container: for instructors on macOS and Windows, for Binder and for Codespaces.
# README, "On macOS and Windows", says how to build and use it. tests/test_container_image.py runs
# these very steps in a fresh Debian, so keep to FROM, ARG, ENV, RUN, COPY, WORKDIR, USER and CMD.
FROM debian:12-slim

# bubblewrap makes the sandbox where the container may have namespaces; elsewhere tier B does.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      bubblewrap ca-certificates git make python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

# Binder names the user and gives its number.
ARG NB_USER=learner
ARG NB_UID=1000
RUN useradd --create-home --uid ${NB_UID} ${NB_USER}

# The environment lies where everybody may read it: student code runs as a user of its own.
# For torch without CUDA name its index: --build-arg PIP_EXTRA_INDEX_URL=<torch's index for CPUs>
ARG PIP_EXTRA_INDEX_URL=
ENV VENV=/opt/course-env PATH=/opt/course-env/bin:/usr/local/bin:/usr/bin:/bin
RUN mkdir ${VENV} && chown ${NB_USER} ${VENV}
ENV USER=${NB_USER} HOME=/home/${NB_USER} OMP_NUM_THREADS=1
WORKDIR /home/${NB_USER}
COPY --chown=${NB_USER} . /home/${NB_USER}
RUN chown ${NB_USER} /home/${NB_USER}

USER ${NB_USER}
RUN PIP_NO_CACHE_DIR=1 make setup

CMD ["make", "lab", "LAB_OPTIONS=--ip=0.0.0.0 --no-browser"]
