"""One request or socket, whatever it asks for: judged, admitted, read, answered. Every room of the edge may call it.

shield            Host, Origin, security headers, request ids; the answer to a request that a stopping hub ends
admission         the guard table, and bodies as strict JSON
computing         threads for large documents, in turns by caller
direct_calls      the short way to an endpoint for a valid request
problems          errors as `application/problem+json`
replies           answers as JSON, their declared types, and repeated requests of this process
sockets           an accepted websocket, and the bound on those that have proved nothing yet
hub_seals         cards of hubs, and seals on requests that another hub passes on
own_command       the command line of this hub's program, for a caller on its computer
"""
