# The book, built and served without a GPU:
#     docker build --tag shallow-book . && docker run --rm --publish 8000:8000 shallow-book
# then http://localhost:8000.  The build executes all chapters: five to twenty minutes on two cores, after the download.
FROM python:3.11-slim AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends git make npm \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home reader
WORKDIR /home/reader/shallow
RUN chown reader:reader .
USER reader
COPY --chown=reader:reader . .
RUN make book

# What is served is the site alone: no compiler, no environment, nothing of the build.
FROM python:3.11-slim
RUN useradd --create-home reader
COPY --from=build --chown=root:root /home/reader/shallow/_build/html /srv/book
USER reader
EXPOSE 8000
CMD ["python", "-m", "http.server", "8000", "--directory", "/srv/book"]
