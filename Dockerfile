# verite in a container, from the wheel that `make wheel` or the release has put into dist/:
#   docker build -t verite .
#   docker run --rm -v "$PWD:/data" verite coco truth.json pred.json
FROM python:3.12-slim
COPY dist/*.whl /tmp/
RUN pip install --no-cache-dir /tmp/verite-*.whl && rm /tmp/*.whl
WORKDIR /data
ENTRYPOINT ["verite"]
