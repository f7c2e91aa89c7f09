"""What the page needs to show a case, as JSON values. Never the planner's id, the case's id, gold or outside metrics.

Numbers are plain floats rounded to what can be seen (0.1 px, 1 cm, 0.01 m/s); None is null. Pixels are those of the image file.
Metres are in the ego frame at t = 0: x forward, y LEFT (a page that looks along x from above draws y to the left).

    {
      "scene": "S-014", "command": "straight" | "left" | "right" | "unknown",
      "dataset": "Oddyssey demo pack" (or ""), "licence": "CC0-1.0", "synthetic": true,
      "horizon_s": 5.0, "dt_s": 0.25,
      "question": "After 5 s the planner is 19.1 m further on and 3.2 m to the right of the expert. Is that a threat?",
      "cameras": [                            # 0 to 6, those that there are, in the order of CAMERAS
        {"name": "front_left", "title": "Front left", "width": 640 | null, "height": 400 | null,
         "frames": [{"t": -1.0, "path": "images/…jpg"}, …],       # oldest first; the last one is the critical frame (t = 0)
         "overlay": "" | "No calibration: nothing can be drawn into this image.",      # why there are no ribbons
         "ribbons": {"expert": R, "planner": R, "history": R, "rated": R},             # [] where there is nothing to draw
         "seconds": {"expert": S, "planner": S, "rated": S}}, …
      ],
         R = [[xl, yl, xr, yr, hidden] | null, …]     # cross sections of the strip of road that the body sweeps, near to far in time;
             # neighbours join to quads, null is a gap; hidden = 1 where another road user stands between the camera and the road (0 if
             # not, or if nobody knows where the others are). From the origin at t = 0 to the front bumper at the end.
             # History: from its first row to the rear end of the vehicle at t = 0 (for the rear cameras).
         S = [[t, xl, yl, xr, yr] , …]     # front bumper at each whole second that can be seen, left and right corner on the road
      "bev": {
        "extent": {"x": [-10.0, 50.0], "y": [-10.0, 10.0]}, "grid_m": 5.0,       # multiples of grid_m; everything essential is inside
        "ego": [[x, y] * 4],                          # outline at t = 0
        "expert": T, "planner": T, "rated": T | null, "history": [[x, y], …] | null,
        "areas": [{"kind": "drivable" | "crosswalk" | "lane" | "shoulder" | "sidewalk" | "island" | …, "use": "" | "bike" | "bus" | …,
                   "points": [[x, y], …]}, …],        # closed outlines, those that lie under others first
        "lines": [{"kind": "boundary" | "marking" | "stop_line" | "lane" | …, "colour": "white" | "yellow", "dashed": false,
                   "points": [[x, y], …]}, …],
        "agents": [{"kind": "vehicle" | "pedestrian" | …, "outline": [[x, y] * 4], "front": [[x, y], [x, y]],   # the side that leads
                    "parked": false, "velocity": [vx, vy] | null, "future": [[x, y], …] | null,         # as the trajectories, from t = 0
                    "seconds": [[t, x, y], …]}, …],
        "things": [{"kind": "cone" | "barrier" | "pole" | …, "closed": true, "points": [[x, y], …]}, …],       # one point for a small thing
        "signals": [{"kind": "traffic_light" | "stop_sign" | …, "state": "red" | "", "points": [[x, y], …]}, …],
        "unknown": ["agents", "map", "static_objects", "signals"]       # layers that nobody looked for (empty ≠ unknown)
      },
         T = {"points": [[x, y] | null, …],           # from t = 0 (the origin), one a step; null where not valid
              "seconds": [[t, x, y], …],              # each whole second from 1 s, for dots and labels
              "end": [[x, y] * 4] | null}             # outline of the vehicle at the last valid state
      "speed": {"t": [0.0, 0.25, …], "expert": [7.4, …], "planner": [7.4, …], "rated": [...] | null, "max": 12.0},   # m/s, null where not known
      "table": {"seconds": [0, 1, 2, 3, 4, 5], "expert": [7.4, …], "planner": [7.4, …],      # m/s at those seconds; shorter horizon, shorter lists
                "end": {"t": 5.0, "ahead_m": 19.06, "left_m": -3.2} | null,    # planner seen from the expert, along the expert's heading there
                "stops": {"expert": "no" | "yes" | "unclear" | "unknown", "planner": "yes"},
                "stop_at": {"expert": null, "planner": 3.5}}                   # s; 0.0 if it stands from the beginning; null if it does not stop
    }
"""
