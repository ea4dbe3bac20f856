"""One request or socket, whatever it asks for: judged, admitted, read, answered. Every room of the edge may call it.

shield            Host, Origin, security headers and request ids, before anything is read
admission         the guard table: identity, means, role and scope of a caller
direct_calls      the short way to an endpoint for a valid request
strict_json       bodies as JSON without doubtful parts
computing         threads for large documents, in turns by caller
problems          errors as `application/problem+json`
response_types    the declared types of answers, in the OpenAPI document
replies           answers as JSON, and repeated requests of this process
cut_requests      the answer to a request that a stopping hub ends
sockets           an accepted websocket, and the bound on those that have proved nothing yet
hub_seals         cards of hubs, and seals on requests that another hub passes on
own_command       the command line of this hub's program, for a caller on its computer
"""
