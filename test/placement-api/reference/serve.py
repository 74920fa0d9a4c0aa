"""Serves the reference, python3-placement on SQLite, on a free port that it prints. POST /reset empties it."""

import os
import sys
import warnings

warnings.simplefilter('ignore')

from wsgiref import simple_server  # noqa: E402

import sqlalchemy  # noqa: E402
from oslo_config import cfg  # noqa: E402
from placement import conf, db_api, deploy  # noqa: E402

DATABASE = 'sqlite:///' + os.path.join(sys.argv[1], 'placement.sqlite')
EMPTIED = (
    'DELETE FROM allocations',
    'DELETE FROM inventories',
    'DELETE FROM resource_provider_aggregates',
    'DELETE FROM resource_provider_traits',
    'DELETE FROM placement_aggregates',
    'UPDATE resource_providers SET root_provider_id = NULL, parent_provider_id = NULL',
    'DELETE FROM resource_providers',
    'DELETE FROM consumers',
    'DELETE FROM consumer_types',
    'DELETE FROM projects',
    'DELETE FROM users',
    "DELETE FROM traits WHERE name LIKE 'CUSTOM\\_%' ESCAPE '\\'",
    "DELETE FROM resource_classes WHERE name LIKE 'CUSTOM\\_%' ESCAPE '\\'",
)
# The reference leaves consumers that hold nothing behind: of refused requests, and of those that give nothing.
LEFT_BEHIND = 'DELETE FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)'


def application():
    config = cfg.ConfigOpts()
    conf.register_opts(config)
    config.set_override('connection', DATABASE, group='placement_database')
    config([], project='placement', default_config_files=[], default_config_dirs=[])
    config.set_override('sync_on_startup', True, group='placement_database')
    config.set_override('auth_strategy', 'noauth2', group='api')
    db_api.configure(config)
    return deploy.loadapp(config)


def main():
    placement = application()
    engine = sqlalchemy.create_engine(DATABASE)

    def serve(environ, start_response):
        if environ['PATH_INFO'] != '/reset':
            # wsgiref makes up a content type where none was sent.
            if environ.get('CONTENT_TYPE') == 'text/plain' and 'HTTP_X_TYPED' not in environ:
                del environ['CONTENT_TYPE']
            body = list(placement(environ, start_response))
            if environ['REQUEST_METHOD'] != 'GET':
                with engine.begin() as connection:
                    connection.exec_driver_sql(LEFT_BEHIND)
            return body
        with engine.begin() as connection:
            for statement in EMPTIED:
                connection.exec_driver_sql(statement)
        start_response('204 No Content', [])
        return []

    class Quiet(simple_server.WSGIRequestHandler):
        def log_message(self, *_):
            pass

    server = simple_server.make_server('127.0.0.1', 0, serve, handler_class=Quiet)
    print('http://127.0.0.1:%d' % server.server_port, flush=True)
    server.serve_forever()


main()
