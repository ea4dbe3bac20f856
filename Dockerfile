# One image for hubs, workers and agents: wheels with the pages inside, built apart from what runs.
FROM node:22.20.0-bookworm-slim AS pages
WORKDIR /src
COPY frontend frontend
COPY device_agents/browser device_agents/browser
COPY protocol protocol
RUN cd frontend && npm ci --no-audit --no-fund && npm run build \
    && cd ../device_agents/browser && npm ci --no-audit --no-fund && npm run build

FROM python:3.13.7-slim-bookworm AS wheels
WORKDIR /src
COPY requirements.lock ./
RUN pip wheel --no-cache-dir --require-hashes -r requirements.lock -w /wheels
COPY . .
COPY --from=pages /src/frontend/dist frontend/dist
COPY --from=pages /src/device_agents/browser/dist device_agents/browser/dist
RUN pip install --no-cache-dir --no-index --find-links /wheels hatchling editables \
    && for part in protocol backend device_agents; do \
         pip wheel --no-cache-dir --no-deps --no-build-isolation --no-index -w /own ./$part; done

FROM python:3.13.7-slim-bookworm
RUN groupadd -g 10001 starloom && useradd -u 10001 -g 10001 -d /var/lib/starloom -s /usr/sbin/nologin starloom \
    && mkdir -p /var/lib/starloom /var/lib/agent /srv/shared /opt/starloom \
    && chown 10001:10001 /var/lib/starloom /var/lib/agent /srv/shared
COPY --from=wheels /wheels /wheels
COPY --from=wheels /own /own
RUN pip install --no-cache-dir --no-index --find-links /wheels /wheels/*.whl \
    && pip install --no-cache-dir --no-index --no-deps /own/*.whl && rm -r /wheels /own
COPY deploy/healthy.py /opt/starloom/healthy.py
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/starloom
CMD ["starloom", "up", "--no-agent"]
